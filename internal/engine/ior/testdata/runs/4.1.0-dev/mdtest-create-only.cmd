mpirun --oversubscribe -np 2 mdtest -n 40 -i 1 -F -C -u -d md
exit=0
