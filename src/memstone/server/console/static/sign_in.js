// A one-time link holds its secret behind the #, which browsers never send. Take it out of the address and post it;
// also when somebody pastes a link while this page is open, which a browser does not load again.
function signIn() {
  const secret = location.hash.slice(1);
  if (!secret) return;
  history.replaceState(null, "", location.pathname + location.search);
  const form = document.querySelector("#by-link");
  form.elements.link.value = secret;
  form.hidden = false;
  document.querySelector("#by-hand").hidden = true;
  form.requestSubmit();
}

signIn();
addEventListener("hashchange", signIn);
