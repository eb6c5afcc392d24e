mpirun --oversubscribe -np 2 ior -t 256k -b 256k -s 100000 -w -F -i 3 -D 1 -O summaryFormat=CSV -o t.bin
exit=0
