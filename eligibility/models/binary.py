"""What the estimators have in common: two classes, NaN for unknown, scikit-learn's conventions."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target


class BinaryClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Predicts by the predict_proba and the classes_ of its subclass."""

    def predict(self, X: Any) -> Any:
        """The likelier class of each row."""
        chances = self.predict_proba(X)
        return self.classes_[np.argmax(chances, axis=1)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.classifier_tags.multi_class = False
        return tags


def two_classes(y: Any) -> tuple[Any, npt.NDArray[np.int64]]:
    """The two classes in order, and 0 or 1 for each row. Raises ValueError for another number of them."""
    check_classification_targets(y)
    if type_of_target(y) not in ("binary", "multiclass"):
        raise ValueError(f"Unknown label type: {type_of_target(y)}")
    classes, places = np.unique(y, return_inverse=True)
    if len(classes) > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is multiclass."
        )
    if len(classes) < 2:
        raise ValueError("Classifier can't train when only one class is present.")
    return classes, places.astype(np.int64)
