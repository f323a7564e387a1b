import { PageHead } from "../../kit/PageHead";

export default function SignIn() {
  return <PageHead title="SignIn" />;
}
