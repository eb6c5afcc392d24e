mpirun --oversubscribe -np 2 ior -t 256k -b 256k -s 100000 -w -F -i 2 -D 1 -O stoneWallingWearOut=1 -o t.bin
exit=0
