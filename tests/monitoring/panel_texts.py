"""What each panel of the dashboards shows, and what it means if it shows nothing."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Text:
    """The description behind the panel's `i`, and the text in place of a curve."""

    about: str
    nothing: str


_COUNTED = "No resources, or they are not counted: setting resource_counts"
_CALLED = "No calls: Metacontroller does not run, or Prometheus does not scrape the hooks"
_ADMITTED = "No writes since, or admission is off"
_QUEUED = "Prometheus does not scrape Metacontroller, or it runs none of our controllers"
_PROBED = "No adapters are wanted, or Prometheus does not scrape the prober"
_SCRAPED = "Prometheus does not scrape the hooks"

DASHBOARDS = {
    "dynamo-operator": "The graphs and other resources of users: how many, which are not ready and why; admission.",
    "dynamo-hooks": "The hooks as a program: calls, their time, and the processes.",
    "dynamo-metacontroller": "Metacontroller: whether it keeps up with the objects, and what limits it.",
    "dynamo-lora": "LoRA adapters of DynamoModels, as the prober sees them in the engines.",
}

PANELS = {
    "Graphs by state": Text(
        "DynamoGraphDeployments by namespace and status.state; only successful serves all it should.", _COUNTED
    ),
    "Resources by kind and state": Text("All custom resources of Dynamo by kind and state.", _COUNTED),
    "Models that are not routed": Text(
        "Models that some frontend of their graph does not route; without a name: the graph routes none.",
        "Every model is routed, or that is not known, or resources are not counted: setting resource_counts",
    ),
    "Not ready, by reason": Text(
        "Resources that are not ready, by the reason of Ready. docs/troubleshooting.md has a paragraph for each.",
        "Everything is ready, or resources are not counted: setting resource_counts",
    ),
    "Not ready, the longest time": Text(
        "For how long the longest one has not been ready. The alert DynamoResourceNotReady begins at 30 minutes.",
        "Everything is ready, or resources are not counted: setting resource_counts",
    ),
    "Reconciliation rate": Text(
        "Syncs of resources per second; each object is synced at least once in five minutes.", _CALLED
    ),
    "Reconciliation duration (P95)": Text(
        "How long the hooks take to answer a sync; milliseconds are normal.", _CALLED
    ),
    "Reconciliation errors": Text(
        "Syncs that failed, or found an invalid spec. The condition Ready and the Event SyncError say why.", "No errors"
    ),
    "Reconciliation success rate": Text("Syncs without an error, in percent of all.", _CALLED),
    "Admission rate": Text("Objects that the API server asked admission about, by its answer.", _ADMITTED),
    "Admission duration (P95)": Text("How long admission takes; each write of a resource waits for it.", _ADMITTED),
    "Admission denials": Text("Objects that admission refused, by reason.", "Nothing was refused, or admission is off"),
    "Days until the certificate ends": Text(
        "Of admission. After its end the API server refuses every write of a resource.", "Admission is off"
    ),
    "Calls by outcome": Text("Calls of each hook per second; done is an answer that Metacontroller applies.", _CALLED),
    "Duration of calls": Text("From the read call to its answer, the middle and the slowest of a hundred.", _CALLED),
    "Size of requests (P99)": Text(
        "Bytes that Metacontroller sends: an object with all its children and related objects.", _CALLED
    ),
    "Size of answers (P99)": Text("Bytes that the hooks answer: the children and the status.", _CALLED),
    "Effects by outcome": Text(
        "What the hooks do beside answering, such as Events and scaling; failed is tried again.",
        "No effects since the start",
    ),
    "Versions": Text("Processes by version. Two versions at once are normal during an upgrade only.", _SCRAPED),
    "Processor": Text("Processors that each process uses; 1 is a whole one.", _SCRAPED),
    "Memory": Text("Resident memory of each process.", _SCRAPED),
    "Time since the start": Text("A process that begins anew again and again is near 0: read its log.", _SCRAPED),
    "Objects that wait": Text(
        "Objects in the queue of each controller; for long above 100, changes take effect late.", _QUEUED
    ),
    "Time in the queue (P95)": Text("How long a changed object waits for its sync.", _QUEUED),
    "Duration of a sync (P95)": Text(
        "The hook, and all writes. More than a second is usually Metacontroller's own limit of requests.", _QUEUED
    ),
    "Repeated syncs": Text("Syncs that Metacontroller tries again, because one failed.", _QUEUED),
    "Syncs by answer": Text("Syncs by the hook's HTTP code; 200 is applied, 429 asks to come again.", _QUEUED),
    "Time that a hook takes, as Metacontroller sees it (P95)": Text(
        "With the network. Much more than the hooks' own time: the way between the two is slow.", _QUEUED
    ),
    "Calls of hooks under way": Text(
        "Calls that wait for an answer; as many as --workers means that hooks are too slow.", _QUEUED
    ),
    "Requests to the API server of Metacontroller": Text(
        "A flat line is its own limit: start it with --client-go-qps=100 --client-go-burst=200.", _QUEUED
    ),
    "Wanted": Text("Adapters that DynamoModels want in engines.", _PROBED),
    "Loaded": Text("Of these, the adapters that engines say they have.", _PROBED),
    "Failed": Text("Adapters whose loading failed. The status of the DynamoModel says why.", _PROBED),
    "Adapters by phase": Text("Adapters by what is done with them.", _PROBED),
    "Adapters lost, in 15 minutes": Text(
        "Adapters that an engine had and has no more, as after its restart; they are loaded again.", _PROBED
    ),
    "Time to load": Text("From the request to the engine until it has the adapter.", "No adapter was loaded lately"),
    "Time until a loss is noticed (P95)": Text(
        "How long requests to a lost adapter fail before it is loaded again.", "No adapter was lost lately"
    ),
    "Requests to engines": Text(
        "Requests of the prober to engines: load, unload, and the list of what is loaded.", _PROBED
    ),
    "Duration of requests to engines (P95)": Text("How long engines take to answer the prober.", _PROBED),
}
"""By title."""
