import type { SerializedOidcTransaction, SerializedSignInChoice } from '../../http/schemas/sign-in.ts';
import { ApiFault, request } from './api.ts';
import { linkTo, navigate } from './location.ts';
import { signInWith } from './session.ts';
import { createStore } from './store.ts';

/** Signing in at the identity provider: the browser leaves, and comes back to `/dashboard/sign-in/oidc`. */

/** The screen that was left, for when the browser is back. Only this tab can read and write it. */
const LEFT = 'outbox-left-for-sign-in';

/** Set while the member wants to choose, even if there is one organization that they would be signed in to. */
const CHOOSES = 'outbox-chooses-organization';

/** Goes to the provider. @param chooses the person wants to see all organizations. @throws {ApiFault} */
export const leave = async (chooses = false): Promise<void> => {
  const { url } = await request<SerializedOidcTransaction>('/v1/session/oidc', {
    method: 'POST',
    body: {},
    isSigningIn: true,
  });
  sessionStorage.setItem(LEFT, chooses ? linkTo('') : location.pathname + location.search);
  if (chooses) sessionStorage.setItem(CHOOSES, '1');
  else sessionStorage.removeItem(CHOOSES);
  location.assign(url);
};

/** Memberships that the person chooses from; null: no choice is needed. */
export const choices = createStore<SerializedSignInChoice | null>(null);

/** Our own code of why it did not succeed; null: it did, or nobody tried. What the provider says is not shown. */
export const problem = createStore<string | null>(null);

const codeOf = (error: unknown): string => (error instanceof ApiFault ? error.code : 'internal_error');

/** Of the address that the provider led back to. @returns null: the provider did not sign them in. */
const answerIn = (query: URLSearchParams) => {
  const [code, state, issuer] = [query.get('code'), query.get('state'), query.get('iss')];
  return code && state ? { code, state, ...(issuer === null ? {} : { issuer }) } : null;
};

/** The page that the browser opens next. */
let left = '';

const goOn = (): void => navigate(left === '' ? linkTo('') : left, 'replace');

/** Signs in to a membership, or joins it. */
export const choose = async ({ choice }: SerializedSignInChoice, memberId: string): Promise<void> => {
  await signInWith({ membership: { choice, member_id: memberId } })
    .then(() => problem.set(null))
    .catch((error: unknown) => problem.set(codeOf(error)));
  choices.set(null);
  goOn();
};

/** The only organization that the person has joined, unless they want to choose. */
const onlyOne = ({ memberships }: SerializedSignInChoice, chooses: boolean): string | null => {
  const joined = memberships.filter(({ status }) => status === 'joined');
  const [only] = chooses && memberships.length > 1 ? [] : joined;
  return joined.length === 1 && only !== undefined ? only.member_id : null;
};

/** Accepts what the provider led back with, and goes on where the browser left. */
export const comeBack = async (): Promise<void> => {
  const query = new URLSearchParams(location.search);
  const chooses = sessionStorage.getItem(CHOOSES) !== null;
  left = sessionStorage.getItem(LEFT) ?? '';
  for (const name of [LEFT, CHOOSES]) sessionStorage.removeItem(name);
  history.replaceState(null, '', location.pathname); // the code does not stay in the history
  const oidc = answerIn(query);
  if (oidc === null) {
    problem.set('oidc_refused');
    return goOn();
  }
  try {
    const found = await request<SerializedSignInChoice>('/v1/session/memberships', {
      method: 'POST',
      body: { oidc },
      isSigningIn: true,
    });
    const only = onlyOne(found, chooses);
    if (only === null) choices.set(found);
    else await choose(found, only);
  } catch (error) {
    problem.set(codeOf(error));
    goOn();
  }
};
