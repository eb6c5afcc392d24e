mpirun --oversubscribe -np 2 mdtest --nothing
exit=1
