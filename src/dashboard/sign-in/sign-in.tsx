import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { SerializedSignInChoice } from '../../http/resources/members/oidc.ts';
import type { SignInMethods } from '../../http/resources/members/session.ts';
import { Icon } from '../components/icons.tsx';
import { ApiFault, request } from '../data/api.ts';
import { enterKey, environmentOfKey } from '../data/credentials.ts';
import { currentEnvironment, navigate, type Place, withParameters } from '../data/location.ts';
import { signInWith } from '../data/session.ts';
import { useStore } from '../data/store.ts';
import { Logo } from '../shell/shell.tsx';
import { OfferPasskey, SignInByPasskey } from './presence.tsx';
import {
  type CaptureState,
  choices,
  choose,
  comeBack,
  ProviderProblem,
  SignInAtProvider,
  Whereabouts,
} from './provider.tsx';

/** Sign-in methods. Only those that the service offers are shown. */

/** null until known, or if they cannot be read. Passkeys and API keys still work then. */
const useSignInMethods = (): SignInMethods | null => {
  const [methods, setMethods] = useState<SignInMethods | null>(null);
  useEffect(() => {
    const read = request<SignInMethods>('/v1/session/methods', { isSigningIn: true });
    void read.then(setMethods).catch(() => undefined);
  }, []);
  return methods;
};

const linkProblemOf = (error: unknown): string => {
  if (error instanceof ApiFault && error.details.email !== undefined) return 'This is not an email address.';
  if (error instanceof ApiFault && error.status === 429)
    return 'Too many links were requested from your network. Try again in a minute.';
  return `Something went wrong: ${String(error instanceof Error ? error.message : error)}`;
};

const SignInByMail = (captured: CaptureState): JSX.Element => {
  const [email, setEmail] = useState('');
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [isAsked, setAsked] = useState(false);
  const ask = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    try {
      await request('/v1/session/links', { method: 'POST', body: { email: email.trim() }, isSigningIn: true });
      setAsked(true);
    } catch (error) {
      setProblem(linkProblemOf(error));
    }
    setBusy(false);
  };
  if (isAsked) {
    return (
      <div class="way" role="status">
        <p>
          <b>A link is on its way</b> if a member has the address <span class="mono">{email.trim()}</span>. At most five
          are sent per hour.
        </p>
        <Whereabouts {...captured} />
        <button type="button" class="btn" onClick={() => setAsked(false)}>
          Use another address
        </button>
      </div>
    );
  }
  return (
    <form class="way" noValidate onSubmit={(event) => void ask(event)}>
      <label>
        Email address
        <input
          class="inp"
          type="email"
          autocomplete="username"
          spellcheck={false}
          required
          value={email}
          aria-invalid={problem !== null}
          {...(problem !== null && { 'aria-describedby': 'mail-problem' })}
          onInput={(event) => {
            setEmail(event.currentTarget.value);
            setProblem(null);
          }}
        />
      </label>
      {problem !== null && (
        <p id="mail-problem" class="problem" role="alert">
          {problem}
        </p>
      )}
      <button type="submit" class="btn" disabled={isBusy}>
        <Icon name="mail" />
        Send me a sign-in link
      </button>
      <Whereabouts {...captured} />
    </form>
  );
};

/** Links to pages that need no sign-in. */
const SignInFoot = (): JSX.Element => (
  <p class="foot">
    <a href="/docs">API reference</a>
  </p>
);

/** Target of a sign-in link. Opening it does not use it up, because mail scanners open every link. */

const TOKEN = /^#(ob_link_\w+)$/;

/** null: the URL is not a sign-in link. */
export const tokenInAddress = ({ path }: Place): string | null =>
  path === '/sign-in' ? (TOKEN.exec(location.hash)?.[1] ?? null) : null;

const tokenProblemOf = (error: unknown): string => {
  if (error instanceof ApiFault && error.code === 'sign_in_link_invalid')
    return 'This link was already used or has expired. Request a new one.';
  return `Something went wrong: ${String(error instanceof Error ? error.message : error)}`;
};

export const SignInLink = ({ token }: { readonly token: string }): JSX.Element => {
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [isSignedIn, setSignedIn] = useState(false);
  const enter = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    try {
      await signInWith({ token });
      setSignedIn(true); // the passkey offer continues from here, and the token leaves the history
    } catch (error) {
      setProblem(tokenProblemOf(error));
      setBusy(false);
    }
  };
  if (isSignedIn) return <OfferPasskey />;
  return (
    <main class="si">
      <div class="box">
        <Logo />
        <h1>Sign in to Outbox</h1>
        <p class="sub">{location.host}</p>
        <form class="panel" onSubmit={(event) => void enter(event)}>
          {problem !== null && (
            <p class="problem" role="alert">
              {problem}
            </p>
          )}
          <button type="submit" class="btn primary" disabled={isBusy}>
            Sign in
          </button>
          <p class="small">
            The link works once. You stay signed in on this browser until you sign out, for 7 days at most.
          </p>
        </form>
        <p class="other-way">
          If the link no longer works, ask an owner for a new one. The operator can print one:
          <code>outbox members link --owner</code>
        </p>
      </div>
      <SignInFoot />
    </main>
  );
};

/** Handles the identity provider's redirect. It continues at once unless there are organizations to choose from. */

export const isBackFromProvider = ({ path }: Place): boolean => path === '/sign-in/oidc';

const Choice = ({ found }: { readonly found: SerializedSignInChoice }): JSX.Element => {
  const [isBusy, setBusy] = useState(false);
  const press = (memberId: string): void => {
    setBusy(true);
    void choose(found, memberId);
  };
  return (
    <>
      <h1>Choose an organization</h1>
      <p class="sub">You join an organization only if you choose it here or open its invitation.</p>
      <div class="panel">
        {found.memberships.map(({ member_id: id, organization, role, status }) => (
          <button
            key={id}
            type="button"
            class={`btn ${status === 'joined' ? 'primary' : ''}`}
            disabled={isBusy}
            onClick={() => press(id)}
          >
            <span class="ell">
              {status === 'joined' ? 'Sign in to' : 'Join organization'} <bdi>{organization.name}</bdi> as {role}
            </span>
          </button>
        ))}
      </div>
    </>
  );
};

export const SignInReturn = (): JSX.Element => {
  const found = useStore(choices);
  useEffect(() => void comeBack(), []);
  return (
    <main class="si">
      <div class="box">
        <Logo />
        {found === null ? (
          <>
            <h1>Sign in to Outbox</h1>
            <p class="sub" role="status">
              Signing you in …
            </p>
          </>
        ) : (
          <Choice found={found} />
        )}
      </div>
    </main>
  );
};

const keyProblemOf = (error: unknown): string =>
  error instanceof ApiFault && error.status === 401
    ? 'This API key does not exist, or is no longer valid.'
    : `The key could not be checked: ${String(error instanceof Error ? error.message : error)}`;

/** Asks for an API key of the current environment. */
const SignInByKey = (): JSX.Element => {
  const environment = currentEnvironment();
  const [text, setText] = useState('');
  const [problem, setProblem] = useState<string | null>(null);
  const enter = async (event: Event): Promise<void> => {
    event.preventDefault();
    const key = text.trim();
    const of = environmentOfKey(key);
    if (of === null) return setProblem('An API key starts with ob_live_ or ob_test_.');
    try {
      await request('/v1/session', { key }); // every valid key may ask who it is
      enterKey(of, key);
      navigate(withParameters({ environment: of === 'test' ? 'test' : null }), 'replace');
    } catch (error) {
      setProblem(keyProblemOf(error));
    }
  };
  return (
    <form class="way" onSubmit={(event) => void enter(event)}>
      <label>
        API key
        <input
          class="inp mono"
          type="password"
          autocomplete="off"
          spellcheck={false}
          placeholder={`ob_${environment}_…`}
          value={text}
          aria-invalid={problem !== null}
          {...(problem !== null && { 'aria-describedby': 'problem' })}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setProblem(null);
          }}
        />
      </label>
      {problem !== null && (
        <p id="problem" class="problem" role="alert">
          {problem}
        </p>
      )}
      <button type="submit" class="btn">
        <Icon name="key" />
        Sign in
      </button>
      <p class="small">The key stays in this tab and is sent only to this service.</p>
    </form>
  );
};

/** The sign-in page with every available method. */
export const SignIn = (): JSX.Element => {
  const methods = useSignInMethods();
  return (
    <main class="si">
      <div class="box">
        <Logo />
        <h1>Sign in to Outbox</h1>
        <p class="sub">{location.host}</p>
        <div class="panel">
          <ProviderProblem />
          <SignInByPasskey />
          {methods?.mailed_link && (
            <>
              <SignInByMail {...methods.mailed_link} />
              <p class="or cells quiet">or</p>
            </>
          )}
          {methods?.oidc && (
            <>
              <SignInAtProvider {...methods.oidc} />
              <p class="or cells quiet">or</p>
            </>
          )}
          <SignInByKey />
        </div>
        <p class="other-way">
          Locked out? An owner can create a link under Settings. The operator can print one:
          <code>outbox members link --owner</code>
        </p>
      </div>
      <SignInFoot />
    </main>
  );
};
