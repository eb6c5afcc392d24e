mpirun --oversubscribe -np 3 ior -a POSIX -t 16k -b 128k -s 4 -F -w -r -e -C -i 1 -k -l t -W -R -G 7 -O interIODelay=1000 -O summaryFormat=CSV -o ior.data
exit=0
