import type { SerializedOidcTransaction, SerializedSignInChoice } from '../../http/schemas/sign-in.ts';
import { ApiFault, request } from './api.ts';
import { linkTo, navigate } from './location.ts';
import { signInWith } from './session.ts';
import { createStore } from './store.ts';

/** Sign-in through the identity provider. The browser leaves and returns to `/dashboard/sign-in/oidc`. */

/** Storage key of the screen to return to. The storage belongs to this tab only. */
const LEFT = 'outbox-left-for-sign-in';

/** Storage key, set if the member wants to choose an organization even when only one is available. */
const CHOOSES = 'outbox-chooses-organization';

/** Redirects to the provider. @param chooses true: list all organizations. @throws {ApiFault} */
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

/** Memberships to choose from; null: no choice is needed. */
export const choices = createStore<SerializedSignInChoice | null>(null);

/** Our own error code; null: no attempt or success. The provider's error text is not shown. */
export const problem = createStore<string | null>(null);

const codeOf = (error: unknown): string => (error instanceof ApiFault ? error.code : 'internal_error');

/** Parses the provider's redirect. @returns null if the provider did not sign the member in. */
const answerIn = (query: URLSearchParams) => {
  const [code, state, issuer] = [query.get('code'), query.get('state'), query.get('iss')];
  return code && state ? { code, state, ...(issuer === null ? {} : { issuer }) } : null;
};

/** The page to open after sign-in. */
let left = '';

const goOn = (): void => navigate(left === '' ? linkTo('') : left, 'replace');

/** Signs in to a membership and accepts it if it is still an invitation. */
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

/** Processes the provider's redirect and returns to the original screen. */
export const comeBack = async (): Promise<void> => {
  const query = new URLSearchParams(location.search);
  const chooses = sessionStorage.getItem(CHOOSES) !== null;
  left = sessionStorage.getItem(LEFT) ?? '';
  for (const name of [LEFT, CHOOSES]) sessionStorage.removeItem(name);
  history.replaceState(null, '', location.pathname); // keeps the code out of the history
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
