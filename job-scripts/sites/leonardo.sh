# Leonardo at CINECA (four A100 a node, and CPU nodes): after https://docs.hpc.cineca.it/hpc/leonardo.html, not tried there.
# For the head of the job script:
#   #SBATCH --account=PROJECT --partition=boost_usr_prod --gres=gpu:4 --ntasks-per-node=4
#   #SBATCH --account=PROJECT --partition=dcgp_usr_prod --ntasks-per-node=112                     CPU nodes
# shellcheck shell=bash
module load gcc openmpi hdf5 cuda
export PPTRAIN_LAUNCHER="${PPTRAIN_LAUNCHER:-srun --mpi=pmix}"
export OMP_NUM_THREADS=1
