import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ApiFault } from '../data/api.ts';
import type { Place } from '../data/location.ts';
import { signInWith } from '../data/session.ts';
import { OfferPasskey } from '../parts/passkeys.tsx';
import { Logo } from '../parts/shell.tsx';
import { SignInFoot } from '../parts/sign-in-ways.tsx';

/** Target of a sign-in link. Opening it does not use it up, because mail scanners open every link. */

const TOKEN = /^#(ob_link_\w+)$/;

/** null: the URL is not a sign-in link. */
export const tokenInAddress = ({ path }: Place): string | null =>
  path === '/sign-in' ? (TOKEN.exec(location.hash)?.[1] ?? null) : null;

const problemOf = (error: unknown): string => {
  if (error instanceof ApiFault && error.code === 'sign_in_link_invalid')
    return 'This link was used before, or is older than a few minutes. Ask for another one.';
  return `It did not succeed: ${String(error instanceof Error ? error.message : error)}`;
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
      setProblem(problemOf(error));
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
          If the link does not work any more, ask an owner for another. The person who runs this service can print one:
          <code>npm run outbox -- members link --owner</code>
        </p>
      </div>
      <SignInFoot />
    </main>
  );
};
