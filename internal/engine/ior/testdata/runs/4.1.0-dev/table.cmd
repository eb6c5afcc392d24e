mpirun --oversubscribe -np 2 ior -a MPIIO -c -t 256k -b 1m -s 2 -w -r -i 2 -o t.bin
exit=0
