"""Routes of accounts, for administrators of the whole tenant."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from pydantic import SecretStr

from memstone.server.access import Admin, AuthenticatedRoute, DryRun
from memstone.server.schemas.accounts import AccountBody, AccountChangeBody
from memstone.server.schemas.base import PROBLEMS, RequestBody, answer_form

router = APIRouter(prefix="/v1/accounts", tags=["accounts"], responses=PROBLEMS, route_class=AuthenticatedRoute)

AccountId = Annotated[str, Path(max_length=256, description="the id of an account, or its login")]


@router.get("", response_model=answer_form("AccountList"))
async def list_accounts(caller: Admin) -> Any:
    """List the accounts of this tenant."""
    caller.needs_tenant()
    return {"results": await caller.memory.admin.accounts.list()}


@router.post("", status_code=201, response_model=answer_form("AccountItem"))
async def create_account(caller: Admin, wanted: AccountBody) -> Any:
    """Create an account; its login must be unique in the tenant."""
    caller.needs_tenant()
    return await caller.memory.admin.accounts.create(**_plain_values(wanted))


@router.patch("/{account}", response_model=answer_form("AccountItem"))
async def update_account(request: Request, caller: Admin, account: AccountId, wanted: AccountChangeBody) -> Any:
    """Change an account; a new password, or disabling it, ends all its sessions."""
    caller.needs_tenant()
    answer = await caller.memory.admin.accounts.update(account, **_plain_values(wanted))
    request.app.state.memstone.doorkeeper.forget()
    return answer


@router.delete("/{account}", response_model=answer_form("AccountRemoval"))
async def remove_account(request: Request, caller: Admin, account: AccountId, *, dry_run: DryRun = False) -> Any:
    """Remove an account and end its sessions."""
    caller.needs_tenant()
    answer = await caller.memory.admin.accounts.remove(account, dry_run=dry_run)
    request.app.state.memstone.doorkeeper.forget()
    return answer


def _plain_values(body: RequestBody) -> dict[str, Any]:
    values = {name: getattr(body, name) for name in body.model_fields_set}
    return {name: one.get_secret_value() if isinstance(one, SecretStr) else one for name, one in values.items()}
