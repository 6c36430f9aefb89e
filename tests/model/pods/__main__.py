"""`python -m tests.model.pods`: the experiment in full size; prints the counts."""

import click

from tests.model.pods import experiment
from tests.model.pods.processes import run_pods


@click.command()
@click.option("--models", "count", default=200, show_default=True, help="Models, each with an engine of its own.")
@click.option("--pods", default=2, show_default=True, help="Hooks pods.")
@click.option("--load-seconds", default=8.0, show_default=True, help="Seconds that each load takes.")
@click.option(
    "--watch", default=90.0, show_default=True, help="Seconds for which the models are watched after the change."
)
def main(*, count: int, pods: int, load_seconds: float, watch: float) -> None:
    """Change the sources of many models while syncs reach all pods at random."""
    with experiment.run_models(count, load_seconds) as (port, models):
        settings = (f"engine_port={port}", "engine_addresses=any", "lora_concurrency=50")
        with run_pods(pods, *settings) as running:
            found = experiment.run(running, models, watch=watch)
    click.echo(f"{count} models, {pods} pods, first load:    {found['first'].line()}")
    click.echo(f"{count} models, {pods} pods, after the change: {found['changed'].line()}")
    click.echo(f"engines with another source: {len(found['wrong'])}")
    click.echo(f"engines of the broken source that serve an old one: {len([one for one in found['loaded'] if one])}")
    for text, number in (found["first"].refusals + found["changed"].refusals).most_common(10):
        click.echo(f"{number} times: {text}")


if __name__ == "__main__":
    main()
