"""A FastAPI application whose customers never see each other's memories.

    pip install 'memstone[server]'
    uvicorn examples.fastapi_tenants:app
    curl -X POST 'localhost:8000/messages' -H 'X-Tenant: acme' -H 'X-User: ann' -d '"I prefer email."'

In production, take tenant and user from your own sign-in, not from headers.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

from fastapi import Body, Depends, FastAPI, Header, Request

from memstone import AsyncMemory


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Open one store for all tenants; it is closed when the application ends."""
    async with AsyncMemory() as memory:
        app.state.memory = memory
        yield


app = FastAPI(lifespan=lifespan)


def tenant_memory(request: Request, x_tenant: Annotated[str, Header()]) -> AsyncMemory:
    """Return the memory of the tenant that asks: nothing ever crosses to another one."""
    memory: AsyncMemory = request.app.state.memory
    return memory.acting_for(x_tenant)


Tenant = Annotated[AsyncMemory, Depends(tenant_memory)]
User = Annotated[str, Header(alias="x-user")]


@app.post("/messages")
async def learn(memory: Tenant, user: User, text: Annotated[str, Body()]) -> list[str]:
    """Learn from a message; returns what is new."""
    answer = await memory.add(text, user_id=user)
    return [change["memory"] for change in answer["results"]]


@app.get("/memories")
async def search(memory: Tenant, user: User, q: str) -> list[str]:
    """Find what is known about the user."""
    found = await memory.search(q, user_id=user, limit=3, layers="fact")
    return [hit["memory"] for hit in found["results"]]
