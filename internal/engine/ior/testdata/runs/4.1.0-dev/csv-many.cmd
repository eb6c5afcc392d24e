mpirun --oversubscribe -np 2 ior -t 256k -b 1m -s 4 -w -r -F -i 3 -e -g -C -O summaryFormat=CSV -o t.bin
exit=0
