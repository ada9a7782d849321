/** Style sheets are bundled with the code that imports them. */
declare module '*.css';
