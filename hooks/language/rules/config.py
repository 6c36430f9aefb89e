"""Rules about `DYN_DEPLOYMENT_CONFIG`, an environment variable that overrides replicas and resources.

Source: Dynamo operator, internal/dynamo/graph.go; its texts are kept up to the reason at the end.
"""

from hooks.ground.problems import Rule
from hooks.language.rules.graph import FAILED_PASS

CONFIG_OF_FRONTEND = Rule(
    name="config-of-frontend",
    text=f"{FAILED_PASS}: {{path}}: failed to unmarshal DYN_DEPLOYMENT_CONFIG: {{why}}",
)
CONFIG = Rule(name="config", text=f"{FAILED_PASS}: {{path}}: failed to parse DYN_DEPLOYMENT_CONFIG: {{why}}")
