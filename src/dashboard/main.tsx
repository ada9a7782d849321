import './styles/index.css';
import { type JSX, render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Empty, Fault } from './components/states.tsx';
import { ensureAccess } from './data/api.ts';
import { keys, session } from './data/credentials.ts';
import { neutralizeDirections } from './data/directions.ts';
import { follow } from './data/live.ts';
import { currentPath, environmentOf, followLinks, linkTo, type Place, usePlace } from './data/location.ts';
import { noteSignedOut, readSession } from './data/session.ts';
import { useStore } from './data/store.ts';
import { LoadedScreen, SCREENS } from './screens.tsx';
import { LeaveDialog } from './shell/leaving.tsx';
import { Shell } from './shell/shell.tsx';
import { SessionEnded } from './sign-in/ended.tsx';
import { PresenceDialog } from './sign-in/presence.tsx';
import { isBackFromProvider, SignIn, SignInLink, SignInReturn, tokenInAddress } from './sign-in/sign-in.tsx';

const UnknownScreen = (): JSX.Element => (
  <>
    <div class="head">
      <h1>Page not found</h1>
    </div>
    <Empty
      icon="search"
      title="Nothing at this address"
      actions={
        <a class="btn" href={linkTo('')}>
          Overview
        </a>
      }
    >
      Check the address. It may belong to an older or newer version of the service.
    </Empty>
  </>
);

/** The screen for a sign-in link or the provider's redirect; null for any other address. */
const entranceAt = (place: Place): JSX.Element | null => {
  const token = tokenInAddress(place);
  if (token !== null) return <SignInLink token={token} />;
  return isBackFromProvider(place) ? <SignInReturn /> : null;
};

const Dashboard = (): JSX.Element | null => {
  const place = usePlace();
  const environment = environmentOf(place);
  const member = useStore(session);
  const hasKey = useStore(keys)[environment] !== undefined;
  const [fault, setFault] = useState<Error | null>(null);
  const isSignedIn = member === null ? hasKey : member !== undefined;
  useEffect(() => void readSession().catch(setFault), []);
  const sessionId = member?.id;
  useEffect(() => (isSignedIn ? follow(environment, noteSignedOut) : undefined), [environment, isSignedIn, sessionId]);
  useEffect(() => {
    if (isSignedIn) void ensureAccess(environment);
  }, [environment, isSignedIn, sessionId]);
  const entrance = entranceAt(place);
  if (entrance !== null)
    return (
      <>
        {entrance}
        <PresenceDialog />
      </>
    );
  if (fault !== null) return <Fault error={fault} retry={() => location.reload()} />;
  if (member === undefined) return null;
  if (!isSignedIn) return <SignIn />;
  const screen = SCREENS.find(({ path }) => path.test(place.path));
  const id = screen?.path.exec(place.path)?.[1] ?? '';
  return (
    <Shell screen={screen}>
      <div key={environment}>
        {screen === undefined ? <UnknownScreen /> : <LoadedScreen key={screen.title} screen={screen} id={id} />}
      </div>
      <PresenceDialog />
      <LeaveDialog />
      <SessionEnded />
    </Shell>
  );
};

// Loads the screen's code while the session is read.
SCREENS.find(({ path }) => path.test(currentPath()))
  ?.load()
  .catch(() => undefined); // rendering the screen loads it again
followLinks();
neutralizeDirections();
const root = document.querySelector('#root');
if (root !== null) render(<Dashboard />, root);
