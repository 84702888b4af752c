import pytest, schemathesis
from hypothesis import settings, HealthCheck, Phase
from tests.server.world import World
C={"store":{"url":"memory:"},"embedder":{"provider":"hash"}}
cm=World.of(C); world=cm.__enter__()
token=world.client.headers["authorization"]
schema=schemathesis.openapi.from_asgi("/openapi.json", world.app, headers={"Authorization":token})
S=schema.include(path_regex=r"^/(memory|agents|insert|upsert|query|delete-memory|deleteByIds|getByIds|v1/(console|events|jobs|settings|pause|export|import))").exclude(path_regex="/stream|/run$")
@S.parametrize()
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate])
def test_api(case):
    r=case.call(headers={"Authorization":token})
    assert r.status_code<500, (r.status_code, r.text[:300])
    if r.status_code!=405: case.validate_response(r, excluded_checks=[c for c in []])
