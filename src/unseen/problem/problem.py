"""What is asked: the settings of a problem."""

from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, model_validator

from unseen.settings import Frozen, PathText, known

PAPER_SPLIT_SEED = 376483  # of the authors' notebook
DEVELOPMENT_SPLIT_SEED = 1


def _canonical_operation(text: str) -> str:
    from unseen.problem.operations import canonical_operation

    return canonical_operation(text)


def _splits() -> list[str]:
    from unseen.problem.splits import LISTED, SPLITS

    return [*SPLITS, LISTED]


class Problem(Frozen):
    """What is asked: which symbols, what to compute from them, which combinations are unseen.

    >>> import unseen
    >>> unseen.Problem(operation="a*b + 2", split="diagonal").samples_per_combination
    1000
    >>> unseen.Problem(split=[[(3, 8), (8, 3)], [(0, 1)]]).unseen_list
    (((3, 8), (8, 3)), ((0, 1),))
    """

    operation: Annotated[str, AfterValidator(_canonical_operation)] = Field(
        "add", description="What to compute: a name, or an expression such as 'a*b + 2'"
    )
    length: int = Field(2, ge=1, le=20, description="Symbols side by side in a picture")
    symbols: PathText = Field("mnist", description="Symbol set, or a folder of four IDX files")
    split: Annotated[str, known("split", _splits)] = Field(
        "random", description="Which combinations are unseen; or a list, as '3 4; 5 1', or its file"
    )
    split_seed: int = Field(
        PAPER_SPLIT_SEED, ge=0, lt=2**32, description="Seed of the folds, and of nothing else"
    )
    unseen: int | None = Field(
        None, ge=1, description="Unseen combinations in a fold; by default a tenth"
    )
    # of a file or a list given as the split: by fold
    unseen_list: tuple[tuple[tuple[int, ...], ...], ...] = ()
    samples_per_combination: int = Field(
        1_000, ge=1, title="samples", description="Training samples per combination"
    )
    test_samples_per_combination: int = Field(
        2_000, ge=1, title="test_samples", description="Test samples per combination"
    )
    development: bool = Field(
        False, description="Use folds for choosing settings: other splits, no test images"
    )

    @model_validator(mode="before")
    @classmethod
    def _split_may_be_a_list(cls, settings: Any) -> Any:
        """Read a list of combinations given as the split; a record has the list itself already."""
        if not isinstance(settings, dict) or "split" not in settings:
            return settings
        if settings.get("unseen_list") is not None:
            return settings
        from unseen.problem.splits import find_split

        split, unseen_list = find_split(settings["split"])
        return settings | {"split": split, "unseen_list": unseen_list}

    def change(self, **settings: Any) -> Self:
        """The same with some fields changed, checked anew; another split leaves its list behind."""
        left = {"unseen_list": None} if "split" in settings else {}
        return super().change(**left | settings)

    @model_validator(mode="after")
    def _settings_fit_together(self) -> Self:
        from unseen.problem.operations import parse_operation

        parse_operation(self.operation, self.length)
        if (self.split == "listed") != bool(self.unseen_list):
            raise ValueError("a list of unseen combinations needs split 'listed', and vice versa")
        if self.unseen_list and self.unseen is not None:
            raise ValueError("a list of combinations says how many are unseen; leave out `unseen`")
        if self.development and self.split_seed == PAPER_SPLIT_SEED:
            raise ValueError(
                "development folds need another split seed than the paper's, "
                f"{PAPER_SPLIT_SEED}: choices are never made on the folds that judge them"
            )
        return self

    @property
    def is_the_papers(self) -> bool:
        """Whether the paper's figures answer the same question, on the same folds or on others."""
        return (
            not self.development
            and (self.operation, self.length, self.split) == ("add", 2, "random")
            and self.unseen in (None, 10)
            and self.symbols == "mnist"
        )

    @property
    def has_the_papers_folds(self) -> bool:
        """Whether the rows of the paper's tables stand for the same folds."""
        return self.is_the_papers and self.split_seed == PAPER_SPLIT_SEED
