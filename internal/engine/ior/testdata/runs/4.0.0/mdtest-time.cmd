mpirun --oversubscribe -np 2 mdtest -n 40 -i 2 -F -P -d md
exit=0
