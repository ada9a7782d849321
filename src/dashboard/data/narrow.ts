import { useEffect, useState } from 'preact/hooks';

/** True if the window is as narrow as a phone, where rows become cards. */
export const useIsNarrow = (): boolean => {
  const [media] = useState(() => matchMedia('(max-width: 760px)'));
  const [isNarrow, setNarrow] = useState(media.matches);
  useEffect(() => {
    const change = (): void => setNarrow(media.matches);
    media.addEventListener('change', change);
    return () => media.removeEventListener('change', change);
  }, [media]);
  return isNarrow;
};
