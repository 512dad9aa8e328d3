# JUWELS Booster at JSC (four A100 a node, ParaStation's Slurm): after https://apps.fz-juelich.de/jsc/hps/juwels, not tried
# there. Cluster and Booster together are a heterogeneous job (hetjob.slurm). For the heads:
#   #SBATCH --account=PROJECT --partition=booster --gres=gpu:4 --ntasks-per-node=4
#   #SBATCH --account=PROJECT --partition=batch --ntasks-per-node=48                              the Cluster's CPU nodes
# shellcheck shell=bash
module load Stages GCC OpenMPI HDF5 CUDA
# The OpenMPI module chooses ParaStation's PMIx.
export PPTRAIN_LAUNCHER="${PPTRAIN_LAUNCHER:-srun}"
export OMP_NUM_THREADS=1
