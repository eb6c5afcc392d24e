mpirun --oversubscribe -np 2 mdtest -n 40 -z 2 -b 2 -i 2 -d md
exit=0
