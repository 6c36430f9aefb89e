"""What runs workloads: controllers of Deployments, groups, Jobs and Services, their webhooks, scheduler and kubelet."""
