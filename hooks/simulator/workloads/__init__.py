"""What runs below a workload: controllers of Deployments, groups and Jobs, the scheduler, the kubelet, Endpoints."""
