"""Bodies of the vector service."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from memstone.server.schemas.base import Id, Json, RequestBody

Numbers = Annotated[list[float], Field(min_length=1, max_length=8_192)]
Ids = Annotated[list[Id], Field(max_length=1_000)]


class VectorBody(RequestBody):
    """A vector under an id that the caller chooses."""

    id: Id
    values: Numbers
    metadata: Json | None = None


class VectorsBody(RequestBody):
    """Vectors of one dimension, for a user."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "vectors": [{"id": "fact-1", "values": [0.1, 0.7, 0.2], "metadata": {"content": "likes tea"}}],
                    "userId": "alice",
                }
            ]
        },
    )

    vectors: list[VectorBody] = Field(min_length=1, max_length=1_000)
    userId: Id | None = None  # noqa: N815 - the name on the wire


class VectorQueryBody(RequestBody):
    """A vector, to find the most similar ones."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"vector": [0.1, 0.7, 0.2], "topK": 5, "userId": "alice"}]},
    )

    vector: Numbers
    topK: int = Field(default=10, ge=1, le=1_000)  # noqa: N815 - the name on the wire
    returnValues: bool = False  # noqa: N815 - the name on the wire
    returnMetadata: bool = True  # noqa: N815 - the name on the wire
    userId: Id | None = None  # noqa: N815 - the name on the wire


class VectorUnlinkBody(RequestBody):
    """Whom to take a vector away from, and why."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"userId": "alice", "vectorId": "fact-1"}]}
    )

    userId: Id | None = None  # noqa: N815 - the name on the wire
    vectorId: Id  # noqa: N815 - the name on the wire
    reason: str | None = Field(default=None, max_length=1_000)
    dryRun: bool = False  # noqa: N815 - the name on the wire


class VectorIdsBody(RequestBody):
    """Ids of vectors."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"ids": ["fact-1"]}]})

    ids: Ids


class VectorDeleteBody(VectorIdsBody):
    """Ids of vectors to delete."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"ids": ["fact-1"], "dryRun": True}]})

    dryRun: bool = False  # noqa: N815 - the name on the wire
