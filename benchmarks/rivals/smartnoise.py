"""smartnoise-synth: MST and PATE-GAN, on categorical columns whose categories are the public codes."""

from contract import answer, request
from snsynth import Synthesizer


def main() -> None:
    """Fit one synthesizer with its whole budget on the mechanism, and draw as many rows as there were."""
    asked = request()
    settings = {"epsilon": asked.epsilon, "delta": asked.delta}
    if asked.variant == "mst":
        maker = Synthesizer.create("mst", **settings)
    else:
        maker = Synthesizer.create("pategan", **settings)
    maker.fit(asked.rows, categorical_columns=list(asked.sizes), preprocessor_eps=0.0)
    answer(asked, maker.sample(len(asked.rows)))


if __name__ == "__main__":
    main()
