mpirun --oversubscribe -np 2 ior -t 256k -b 1m -r -R -G 7 -F -k -O summaryFormat=CSV -o t.bin
exit=2
