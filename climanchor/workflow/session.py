"""Make the products of a plan in order, reusing what is there; or only say what would be made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from climanchor.workflow.progress import Reporter
from climanchor.workflow.store import Product, Step, Store


class NotEnoughData(RuntimeError):
    """What was found is too little for what the recipe asks."""


class StepFailed(RuntimeError):
    """A step of the plan ended in an error; what was finished before it is kept."""


@dataclass
class Session:
    """The products of one run: ``made`` were built now, ``reused`` were found in the store."""

    store: Store
    reporter: Reporter
    made: list[Step] = field(default_factory=list)
    reused: list[Step] = field(default_factory=list)
    products: dict[str, Product] = field(default_factory=dict)

    def make(self, step: Step) -> Product:
        """The product of ``step``, built only if the store does not hold it whole; inputs first."""
        if step.key in self.products:
            return self.products[step.key]
        inputs = {name: self.make(needed) for name, needed in step.inputs.items()}
        product = self.store.find(step)
        if product is not None:
            self.reporter.reused(step.title)
            self.reused.append(step)
        else:
            if self.store.path(step).exists():
                self.reporter.warning(f"{step.title}: the stored product is damaged and will be made again")
            with self.reporter.step(step.title):
                product = self._build(step, inputs)
            self.made.append(step)
        self.products[step.key] = product
        return product

    def _build(self, step: Step, inputs: dict[str, Product]) -> Product:
        try:
            product = self.store.make(step, inputs)
        except (ValueError, OSError, ArithmeticError, LookupError, TypeError) as error:
            raise StepFailed(f"{step.title} failed: {type(error).__name__}: {error}") from error
        for text in product.warnings:
            self.reporter.warning(f"{step.title}: {text}")
        return product

    def make_all(self, steps: Iterable[Step]) -> None:
        """Make every step, in order."""
        for step in steps:
            self.make(step)

    def is_done(self, step: Step) -> bool:
        """Whether the store holds the product of ``step`` whole."""
        return self.store.find(step) is not None

    def warnings(self) -> list[str]:
        """What the steps warned of, whether now or when they first ran."""
        steps = {step.key: step for step in (*self.reused, *self.made)}
        lines = [f"{steps[key].title}: {text}" for key, product in self.products.items() for text in product.warnings]
        return list(dict.fromkeys(lines))
