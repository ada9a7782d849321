import './styles/index.css';
import { type JSX, render } from 'preact';
import { useEffect } from 'preact/hooks';
import { keys } from './data/credentials.ts';
import { follow } from './data/live.ts';
import { environmentOf, followLinks, usePlace } from './data/location.ts';
import { useStore } from './data/store.ts';
import { Shell } from './parts/shell.tsx';
import { Empty } from './parts/states.tsx';
import { Key } from './screens/key.tsx';
import { Keys } from './screens/keys.tsx';
import { Message } from './screens/message.tsx';
import { Messages } from './screens/messages.tsx';
import { SignIn } from './screens/sign-in.tsx';

interface Screen {
  readonly title: string;
  readonly shown: JSX.Element;
}

const SCREENS: readonly (readonly [RegExp, (id: string) => Screen])[] = [
  [/^(?:\/messages)?$/, () => ({ title: 'Messages', shown: <Messages /> })],
  [/^\/messages\/([^/]+)$/, (id) => ({ title: 'Message', shown: <Message key={id} id={id} /> })],
  [/^\/keys$/, () => ({ title: 'API keys', shown: <Keys /> })],
  [/^\/keys\/([^/]+)$/, (id) => ({ title: 'API key', shown: <Key key={id} id={id} /> })],
];

const NOWHERE: Screen = {
  title: 'Not here',
  shown: (
    <Empty icon="search" title="There is no such screen">
      The address may be of another version of the service.
    </Empty>
  ),
};

const screenAt = (path: string): Screen => {
  for (const [pattern, make] of SCREENS) {
    const found = pattern.exec(path);
    if (found !== null) return make(found[1] ?? '');
  }
  return NOWHERE;
};

const Dashboard = (): JSX.Element => {
  const place = usePlace();
  const environment = environmentOf(place);
  const isSignedIn = useStore(keys)[environment] !== undefined;
  useEffect(() => (isSignedIn ? follow(environment) : undefined), [environment, isSignedIn]);
  if (!isSignedIn) return <SignIn />;
  const { title, shown } = screenAt(place.path);
  return (
    <Shell title={title}>
      <div key={environment}>{shown}</div>
    </Shell>
  );
};

followLinks();
const root = document.querySelector('#root');
if (root !== null) render(<Dashboard />, root);
