"""VGG with the names of torchvision, which transformers has no class for."""

import json
import types

import safetensors.torch
import torch


class Vgg(torch.nn.Module):
    """3 x 3 convolutions with ReLU and 2 x 2 pooling, then dense layers; called and answering as models of transformers."""

    config = types.SimpleNamespace()
    dtype = torch.float32

    def __init__(self, description):
        super().__init__()
        channels, side, features = description.get("num_channels", 3), description["image_size"], []
        for step in description["cfg"]:
            if step == "M":
                features.append(torch.nn.MaxPool2d(2, 2))
                side //= 2
            else:
                features += [torch.nn.Conv2d(channels, step, 3, padding=1), torch.nn.ReLU()]
                channels = step
        widths, classifier = [channels * side * side, *description["hidden"]], []
        for width, out in zip(widths, description["hidden"]):
            classifier += [torch.nn.Linear(width, out), torch.nn.ReLU(), torch.nn.Identity()]  # in place of dropout
        classifier.append(torch.nn.Linear(widths[-1], description["num_labels"]))
        self.features, self.classifier = torch.nn.Sequential(*features), torch.nn.Sequential(*classifier)

    def forward(self, pixel_values):
        return types.SimpleNamespace(logits=self.classifier(self.features(pixel_values).flatten(1)))


def load(folder):
    """The network of a folder; nothing where its config.json describes another one."""
    description = json.loads((folder / "config.json").read_text())
    if description["model_type"] != "vgg":
        return None
    model = Vgg(description)
    model.load_state_dict(safetensors.torch.load_file(folder / "model.safetensors"))
    return model.train()
