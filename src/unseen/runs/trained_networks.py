"""The trained networks of a run, with the weights that its folds ended with."""

from typing import TYPE_CHECKING

from unseen.errors import UnseenError
from unseen.networks.models import find_network
from unseen.networks.own_files import is_own
from unseen.problem.task import make_task
from unseen.runs.experiment import Experiment
from unseen.runs.run_folder import RunFolder
from unseen.training.baselines import BASELINES

if TYPE_CHECKING:
    from unseen.networks.modules import RescaledOutput


def load_network(
    folder: RunFolder,
    experiment: Experiment,
    fold: int,
    own: str | None = None,
    *,
    so_far: bool = False,
) -> "RescaledOutput":
    """The network of a finished fold, ready to answer: (n, 1, height, width) in 0 to 1 -> (n,).

    Where `so_far` is true, that of an unfinished one will do, as it was last measured.
    A saved run never executes a file by itself: a user's network is named again by `own`.
    """
    import safetensors.torch

    from unseen.networks.modules import RescaledOutput, laid_out_for_speed

    model = experiment.training.model
    if model in BASELINES:
        raise UnseenError(f"{model} is a baseline: it has no network")
    if is_own(model):
        if own is None:
            raise UnseenError(
                f"the network is a file of its own, {model}, which is not run unasked: "
                "name it again as the model"
            )
        model = own
    folder.refuse_changed_parts(experiment, own if is_own(model) else None)
    weights = folder.weights_so_far(fold) if so_far else None
    if folder.result(fold) is not None:
        weights = folder.weights(fold)
    if weights is None:
        done = ", ".join(str(result.fold) for result in folder.results(thorough=False)[0])
        raise UnseenError(f"fold {fold} is not done; done: {done or 'none'}")
    task = make_task(experiment.problem)
    length = task.combinations.digits.shape[1]
    height, width = task.bank.test.images.shape[1:]
    network = RescaledOutput(find_network(model).build(length, height, length * width))
    try:
        saved = safetensors.torch.load(weights)
        network.load_state_dict(saved)
        # torch would cast other types without a word
        fits = all(saved[name].dtype == each.dtype for name, each in network.state_dict().items())
    except (RuntimeError, safetensors.SafetensorError):
        fits = False
    if not fits:
        raise UnseenError(f"the weights of fold {fold} do not fit {model}; run the fold again")
    return laid_out_for_speed(network.eval())
