import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Place } from '../data/location.ts';
import { comeBack } from '../data/oidc.ts';
import { Logo } from '../parts/shell.tsx';

/** Where the identity provider leads back to. It goes on by itself. */

export const isBackFromProvider = ({ path }: Place): boolean => path === '/sign-in/oidc';

export const SignInReturn = (): JSX.Element => {
  useEffect(() => void comeBack(), []);
  return (
    <main class="si">
      <div class="box">
        <Logo />
        <h1>Sign in to Outbox</h1>
        <p class="sub" role="status">
          You are being signed in …
        </p>
      </div>
    </main>
  );
};
