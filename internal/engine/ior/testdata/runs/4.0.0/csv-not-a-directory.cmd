mpirun --oversubscribe -np 2 ior -t 256k -b 1m -s 4 -w -F -i 2 -O summaryFormat=CSV -o /dev/full/t.bin
exit=255
