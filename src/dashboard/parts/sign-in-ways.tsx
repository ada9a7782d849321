import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { SignInMethods } from '../../http/schemas/sign-in.ts';
import { ApiFault, request } from '../data/api.ts';
import { linkTo } from '../data/location.ts';
import { Icon } from './icons.tsx';

/** Sign-in methods. Only those that the service offers are shown. */

/** null until known, or if they cannot be read. Passkeys and API keys still work then. */
export const useSignInMethods = (): SignInMethods | null => {
  const [methods, setMethods] = useState<SignInMethods | null>(null);
  useEffect(() => {
    const read = request<SignInMethods>('/v1/session/methods', { isSigningIn: true });
    void read.then(setMethods).catch(() => undefined);
  }, []);
  return methods;
};

const problemOf = (error: unknown): string => {
  if (error instanceof ApiFault && error.details.email !== undefined) return 'This is no email address.';
  if (error instanceof ApiFault && error.status === 429) return 'Too many were asked for from here. Wait a minute.';
  return `It did not succeed: ${String(error instanceof Error ? error.message : error)}`;
};

type CaptureState = Pick<NonNullable<SignInMethods['mailed_link']>, 'is_captured'>;

/** Tells people where to find the link. */
const Whereabouts = ({ is_captured }: CaptureState): JSX.Element =>
  is_captured ? (
    <p class="small">
      Mail does not leave this machine: the link is in the <a href={linkTo('/inbox')}>inbox</a>, where only an owner who
      is signed in can read it. The operator can print a link for any member: <code>npm run outbox -- members</code>.
    </p>
  ) : (
    <p class="small">
      The link works once, for 15 minutes. This page does not reveal whether an address belongs to a member.
    </p>
  );

export const SignInByMail = (captured: CaptureState): JSX.Element => {
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
      setProblem(problemOf(error));
    }
    setBusy(false);
  };
  if (isAsked) {
    return (
      <div class="way" role="status">
        <p>
          <b>A link is on its way</b> if a member has the address <span class="mono">{email.trim()}</span>. Five an hour
          are sent at most.
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
export const SignInFoot = (): JSX.Element => (
  <p class="foot">
    <a href="/docs">API reference</a>
  </p>
);
