mpirun --oversubscribe -np 2 ior -t 256k -b 1m -s 2 -w -r -i 2 -v -O summaryFormat=JSON -o t.bin
exit=0
