import type { SerializedOidcTransaction } from '../../http/schemas/sign-in.ts';
import { ApiFault, request } from './api.ts';
import { linkTo, navigate } from './location.ts';
import { signInWith } from './session.ts';
import { createStore } from './store.ts';

/** Signing in at the identity provider: the browser leaves, and comes back to `/dashboard/sign-in/oidc`. */

/** The screen that was left, for when the browser is back. Only this tab can read and write it. */
const LEFT = 'outbox-left-for-sign-in';

/** Goes to the provider. @throws {ApiFault} */
export const leave = async (): Promise<void> => {
  const { url } = await request<SerializedOidcTransaction>('/v1/session/oidc', {
    method: 'POST',
    body: {},
    isSigningIn: true,
  });
  sessionStorage.setItem(LEFT, location.pathname + location.search);
  location.assign(url);
};

/** Our own code of why it did not succeed; null: it did, or nobody tried. What the provider says is not shown. */
export const problem = createStore<string | null>(null);

const codeOf = (error: unknown): string => (error instanceof ApiFault ? error.code : 'internal_error');

/** Of the address that the provider led back to. @returns null: the provider did not sign them in. */
const answerIn = (query: URLSearchParams) => {
  const [code, state, issuer] = [query.get('code'), query.get('state'), query.get('iss')];
  return code && state ? { code, state, ...(issuer === null ? {} : { issuer }) } : null;
};

/** Takes what the provider led back with, and goes on where the browser left. */
export const comeBack = async (): Promise<void> => {
  const query = new URLSearchParams(location.search);
  const left = sessionStorage.getItem(LEFT) ?? linkTo('');
  sessionStorage.removeItem(LEFT);
  history.replaceState(null, '', location.pathname); // the code does not stay in the history
  const answer = answerIn(query);
  if (answer === null) problem.set('oidc_refused');
  else {
    await signInWith({ oidc: answer })
      .then(() => problem.set(null))
      .catch((error: unknown) => problem.set(codeOf(error)));
  }
  navigate(left, 'replace');
};
