import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { SerializedOidcTransaction, SerializedSignInChoice } from '../../http/resources/members/oidc.ts';
import type { SignInMethods } from '../../http/resources/members/session.ts';
import { Icon } from '../components/icons.tsx';
import { ApiFault, request } from '../data/api.ts';
import { session } from '../data/credentials.ts';
import { linkTo, navigate } from '../data/location.ts';
import { useRead } from '../data/queries.ts';
import { signInWith } from '../data/session.ts';
import { createStore, useStore } from '../data/store.ts';

/** Sign-in through the identity provider. The browser leaves and returns to `/dashboard/sign-in/oidc`. */

/** Storage key of the screen to return to. The storage belongs to this tab only. */
const LEFT = 'outbox-left-for-sign-in';

/** Storage key, set if the member wants to choose an organization even when only one is available. */
const CHOOSES = 'outbox-chooses-organization';

/** Redirects to the provider. @param chooses true: list all organizations. @throws {ApiFault} */
const leave = async (chooses = false): Promise<void> => {
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
const problem = createStore<string | null>(null);

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

/** Sign-in through the identity provider, and its errors. */

const SENTENCES: Readonly<Record<string, string>> = {
  oidc_refused: 'The identity provider did not sign you in.',
  oidc_invalid:
    'The sign-in was not completed: it was already used, took longer than ten minutes, or started in another browser. Try again.',
  oidc_address_unverified: 'The identity provider has not verified your email address.',
  oidc_no_member:
    'Your address does not belong to an organization, or the invitation has expired. Ask an owner to invite you.',
  unavailable: 'The identity provider is not responding. Try again in a moment.',
  rate_limit_exceeded: 'There were too many attempts from your network. Try again in a minute.',
};

const sentenceOf = (code: string): string => SENTENCES[code] ?? 'Sign-in failed.';

const linkSentenceOf = (code: string): string =>
  code === 'rate_limit_exceeded' ? (SENTENCES[code] ?? '') : 'The links could not be requested. Try again in a moment.';

const Problem = ({ sentence, code }: { readonly sentence: string; readonly code: string }): JSX.Element => (
  <p class="problem" role="alert">
    {sentence} <code>{code}</code>
  </p>
);

/** The problem of the last redirect back. */
export const ProviderProblem = (): JSX.Element | null => {
  const code = useStore(problem);
  return code === null ? null : <Problem sentence={sentenceOf(code)} code={code} />;
};

/** The service explains problems with the request itself, such as a wrong host name. */
const refusalOf = (error: unknown): { readonly sentence: string; readonly code: string } => {
  if (!(error instanceof ApiFault)) return { sentence: sentenceOf(''), code: 'internal_error' };
  const { code, message } = error;
  return { sentence: code === 'invalid_request' ? `${message}.` : sentenceOf(code), code };
};

/** @param chooses true: list all organizations of the member. */
const ProviderButton = ({ word, chooses }: { readonly word: string; readonly chooses: boolean }): JSX.Element => {
  const [refusal, setRefusal] = useState<ReturnType<typeof refusalOf> | null>(null);
  const [isBusy, setBusy] = useState(false);
  const go = async (): Promise<void> => {
    setBusy(true);
    setRefusal(null);
    problem.set(null);
    try {
      await leave(chooses);
    } catch (error) {
      setRefusal(refusalOf(error));
      setBusy(false);
    }
  };
  return (
    <>
      {refusal !== null && <Problem {...refusal} />}
      <button type="button" class="btn" disabled={isBusy} onClick={() => void go()}>
        <Icon name="lock" />
        <span class="ell">{word}</span>
      </button>
    </>
  );
};

export const SignInAtProvider = ({ host }: NonNullable<SignInMethods['oidc']>): JSX.Element => (
  <ProviderButton word={`Sign in with ${host}`} chooses={false} />
);

export type CaptureState = Pick<NonNullable<SignInMethods['mailed_link']>, 'is_captured'>;

/** Tells people where to find the link. */
export const Whereabouts = ({ is_captured }: CaptureState): JSX.Element =>
  is_captured ? (
    <p class="small">
      Mail is captured and not sent: the link is in the <a href={linkTo('/inbox')}>inbox</a>, where only a signed-in
      owner can read it. The operator can print a link for any member: <code>outbox members</code>.
    </p>
  ) : (
    <p class="small">
      The link works once, for 15 minutes. This page does not reveal whether an address belongs to a member.
    </p>
  );

/**
 * Mails the member a link for each of their organizations: only the owner of the address can open them. The session does
 * not know if there are others: an owner could invite any address to find out where it is a member.
 */
const SwitchByMail = ({ email, ...captured }: CaptureState & { readonly email: string }): JSX.Element => {
  const [isAsked, setAsked] = useState(false);
  const [refusal, setRefusal] = useState<string | null>(null);
  const ask = async (): Promise<void> => {
    try {
      await request('/v1/session/links', { method: 'POST', body: { email }, isSigningIn: true });
      setAsked(true);
    } catch (error) {
      setRefusal(codeOf(error));
    }
  };
  if (isAsked) {
    return (
      <div role="status">
        <p>
          A sign-in link for each of your organizations is on its way to <bdi>{email}</bdi>. Open the link of the one
          that you want to work in. An organization without a verified domain cannot mail a link: ask its owner for one.
        </p>
        {captured.is_captured && <Whereabouts is_captured />}
      </div>
    );
  }
  return (
    <>
      {refusal !== null && <Problem sentence={linkSentenceOf(refusal)} code={refusal} />}
      <p class="small">If you belong to other organizations, get a sign-in link for each of them by mail.</p>
      <button type="button" class="btn" onClick={() => void ask()}>
        <Icon name="mail" />
        <span class="ell">Switch organization by mail</span>
      </button>
    </>
  );
};

/**
 * Signs the member in at the provider again and lists their organizations; without a provider, mails links. Renders
 * nothing if the address of the member cannot be verified in either way.
 */
export const SwitchOrganization = (): JSX.Element | null => {
  const email = useStore(session)?.member?.email ?? null;
  const { data } = useRead(['/v1/session/methods'], (signal) =>
    request<SignInMethods>('/v1/session/methods', { signal, environment: 'live' }),
  );
  if (data?.oidc) return <ProviderButton word="Switch organization" chooses />;
  return data?.mailed_link && email !== null ? <SwitchByMail email={email} {...data.mailed_link} /> : null;
};
