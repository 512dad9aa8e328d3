# Delta at NCSA (A100, A40 and CPU nodes, Slingshot): after https://docs.ncsa.illinois.edu/systems/delta, not tried there.
# Each kind of node is a partition, so mixed nodes are a heterogeneous job (hetjob.slurm). For its components:
#   #SBATCH --account=PROJECT-delta-gpu --partition=gpuA100x4 --gpus-per-node=4 --ntasks-per-node=4
#   #SBATCH --account=PROJECT-delta-gpu --partition=gpuA40x4 --gpus-per-node=4 --ntasks-per-node=4
# and for CPU nodes: --account=PROJECT-delta-cpu --partition=cpu --ntasks-per-node=128
# shellcheck shell=bash
module load gcc openmpi hdf5 cuda
export PPTRAIN_LAUNCHER="${PPTRAIN_LAUNCHER:-srun --mpi=pmix}"
export OMP_NUM_THREADS=1
