"""What all models of configuration files have in common."""

from pydantic import BaseModel, ConfigDict


class ConfigModel(BaseModel):
    """Base of the configuration models: frozen, unknown fields are kept."""

    model_config = ConfigDict(frozen=True, extra="allow")
