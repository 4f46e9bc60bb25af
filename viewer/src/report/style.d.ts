// Style sheets of libraries, which the bundle holds as text.
declare module "*.css" {
  const text: string;
  export default text;
}
