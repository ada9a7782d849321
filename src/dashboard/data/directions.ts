import { type ComponentChildren, options } from 'preact';

/**
 * Text of other people can contain characters that turn the text after them backwards (UAX #9 §2): `invoice\u202Efdp.exe`
 * looks like `invoiceexe.pdf`. Isolation by `<bdi>` protects the text around it, but not the text itself. Languages written
 * from right to left need none of these characters.
 */
const OVERRIDES = /[\u202a-\u202e\u2066-\u2069]/g;

/** Shows each as the sign for a character that cannot be shown. */
const withoutOverrides = (text: string): string => text.replace(OVERRIDES, '\ufffd');

const neutral = (children: ComponentChildren): ComponentChildren => {
  if (typeof children === 'string') return withoutOverrides(children);
  return Array.isArray(children) ? children.map(neutral) : children;
};

/** Applies to every `<bdi>`, which is how the dashboard marks text of other people. */
export const neutralizeDirections = (): void => {
  const before = options.vnode;
  options.vnode = (vnode) => {
    if (vnode.type === 'bdi') {
      const props = vnode.props as { children?: ComponentChildren };
      props.children = neutral(props.children);
    }
    before?.(vnode);
  };
};
