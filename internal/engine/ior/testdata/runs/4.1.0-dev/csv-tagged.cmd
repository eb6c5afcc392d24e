mpirun --oversubscribe --tag-output --timestamp-output -np 2 ior -t 256k -b 256k -s 100000 -w -F -i 30 -D 1 -k -O summaryFormat=CSV -o t.bin   # signal TERM to mpirun after 3.5 s
exit=1
