"""The addresses at which clouds give a machine its metadata and credentials; no engine has one of them.

Most of IPv4 are link-local, and refused for that too. They are listed because the list also holds for what a gateway
reads in an address of IPv6.

Source: the clouds' own pages, and cloud-init, which reads metadata from all of them.

| cloud | source |
|---|---|
| AWS: EC2 | docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html |
| AWS: ECS tasks | docs.aws.amazon.com/AmazonECS/latest/developerguide/task-metadata-endpoint-v2.html |
| AWS: EKS Pod Identity | docs.aws.amazon.com/eks/latest/userguide/pod-id-agent-setup.html |
| Azure: WireServer | learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16 |
| Google Cloud | cloud.google.com/compute/docs/metadata/querying-metadata |
| Oracle Cloud | docs.oracle.com/en-us/iaas/Content/Compute/Tasks/gettingmetadata.htm |
| Oracle Cloud, IPv6 | cloud-init, cloudinit/sources/DataSourceOracle.py |
| Oracle Compute Classic | "Cloud Metadata Dictionary" of BuffaloWill, gist.github.com; the service has ended |
| Alibaba Cloud | alibabacloud.com/help/en/ecs/user-guide/view-instance-metadata |
| Alibaba Cloud, IPv6 | cloud-init, cloudinit/sources/DataSourceAliYun.py |
| Tencent Cloud | Datadog Agent, pkg/util/cloudproviders/tencent, which reads it there |
| OpenStack | docs.openstack.org/nova/latest/admin/metadata-service.html |
| Scaleway | cloudinit.readthedocs.io/en/latest/reference/datasources/scaleway.html |
| Akamai (Linode) | techdocs.akamai.com/cloud-computing/docs/metadata-service-api |

DigitalOcean, Huawei, IBM and others use 169.254.169.254 too.
"""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address

METADATA_ADDRESSES = frozenset(
    {
        IPv4Address("169.254.169.254"),  # AWS, Azure, Google, Oracle, OpenStack and others
        IPv4Address("169.254.170.2"),  # AWS: ECS tasks
        IPv4Address("169.254.170.23"),  # AWS: EKS Pod Identity
        IPv4Address("168.63.129.16"),  # Azure: WireServer
        IPv4Address("192.0.0.192"),  # Oracle Compute Classic
        IPv4Address("100.100.100.200"),  # Alibaba
        IPv4Address("169.254.0.23"),  # Tencent
        IPv4Address("169.254.42.42"),  # Scaleway
        IPv6Address("fd00:ec2::254"),  # AWS
        IPv6Address("fd00:ec2::23"),  # AWS: EKS Pod Identity
        IPv6Address("fd20:ce::254"),  # Google
        IPv6Address("fd00:c1::a9fe:a9fe"),  # Oracle
        IPv6Address("fd00:100::100:200"),  # Alibaba
        IPv6Address("fe80::a9fe:a9fe"),  # OpenStack
        IPv6Address("fd00:42::42"),  # Scaleway
        IPv6Address("fd00:a9fe:a9fe::1"),  # Akamai
    }
)

_TRANSLATED_BYTES = ((4, 5, 6, 7), (5, 6, 7, 9), (6, 7, 9, 10), (7, 9, 10, 11), (9, 10, 11, 12), (12, 13, 14, 15))
"""The bytes in which NAT64 reads an address of IPv4, for prefixes of 32, 40, 48, 56, 64 and 96 bits: RFC 6052, 2.2."""


def is_metadata_address(address: IPv4Address | IPv6Address) -> bool:
    """Whether a cloud gives metadata at the address, or NAT64 with any prefix would translate it to such a one."""
    return address in METADATA_ADDRESSES or any(one in METADATA_ADDRESSES for one in _translate(address))


def _translate(address: IPv4Address | IPv6Address) -> Iterator[IPv4Address]:
    if isinstance(address, IPv6Address):
        packed = address.packed
        for places in _TRANSLATED_BYTES:
            yield IPv4Address(bytes(packed[place] for place in places))
