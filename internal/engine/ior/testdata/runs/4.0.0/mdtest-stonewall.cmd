mpirun --oversubscribe -np 2 mdtest -n 2000 -i 2 -F -W 1 -d md
exit=0
