import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { hasEnded, session } from '../data/credentials.ts';
import { noteSignedOut, resumeSession, signInWith } from '../data/session.ts';
import { useStore } from '../data/store.ts';
import { ByLink, SignInByPasskey } from './presence.tsx';

/** Asks again when the person comes back to this tab, or has signed in in another one. */
const useOtherTabs = (): void => {
  useEffect(() => {
    const check = (): void => {
      if (!document.hidden) void resumeSession();
    };
    for (const type of ['focus', 'storage']) addEventListener(type, check);
    document.addEventListener('visibilitychange', check);
    return () => {
      for (const type of ['focus', 'storage']) removeEventListener(type, check);
      document.removeEventListener('visibilitychange', check);
    };
  }, []);
};

const Ended = (): JSX.Element => {
  const dialog = useRef<HTMLDialogElement>(null);
  const name = useStore(session)?.member?.name;
  const show = (): void => {
    if (dialog.current?.open === false) dialog.current.showModal();
  };
  useEffect(show, []);
  useOtherTabs();
  return (
    // The backdrop hides the page from people who are not signed in.
    <dialog ref={dialog} class="dlg ended" aria-label="Your session has ended" onClose={show}>
      <h2>Your session has ended</h2>
      <p class="two">
        Sign in again as <bdi class="b">{name}</bdi> to continue. What you typed is still here.
      </p>
      <div class="prove">
        <SignInByPasskey />
        <a class="btn" href="/dashboard" target="_blank" rel="noopener">
          Sign in in a new tab
        </a>
        <p class="muted small">This page continues when you come back to it.</p>
        <details>
          <summary>Use a sign-in link here</summary>
          <ByLink prove={(token) => signInWith({ token })} done={() => undefined} />
        </details>
      </div>
      <div class="acts">
        <button type="button" class="btn" onClick={noteSignedOut}>
          Discard and sign out
        </button>
      </div>
    </dialog>
  );
};

/** Covers the screen while its session has ended. The screen stays, with what was typed. */
export const SessionEnded = (): JSX.Element | null => (useStore(hasEnded) ? <Ended /> : null);
