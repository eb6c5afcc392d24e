mpirun --oversubscribe -np 2 mdtest -n 40 -i 2 -F --showRankStatistics -d md
exit=0
