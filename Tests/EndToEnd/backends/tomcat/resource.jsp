<%@page contentType="application/json" pageEncoding="UTF-8" session="false" trimDirectiveWhitespaces="true"%>
<%!
// JSON of a text; characters that JSON would want escaped become question marks.
static String json(Object text) {
    return text == null ? "null" : '"' + text.toString().replaceAll("[\"\\\\\\p{Cntrl}]", "?") + '"';
}
%>
<%
// Tomcat's choice among the servlets of web.xml. The method is taken as Jersey's HttpMethodOverrideFilter takes it.
String resource = request.getHttpServletMapping().getServletName();
String path = request.getPathInfo();
if (resource.equals("user")) resource += " " + (path == null ? "" : path.split("/", 3)[1]);
String override = request.getHeader("X-HTTP-Method-Override");
// A login of Tomcat's, what SSLValve takes from headers, or the header that a login before the server would set.
Object user = request.getRemoteUser();
if (user == null) user = request.getAttribute("jakarta.servlet.request.X509Certificate");
if (user == null) user = request.getAttribute("jakarta.servlet.request.cipher_suite");
if (user == null) user = request.getHeader("Remote-User");
response.setStatus(resource.equals("none") ? 404 : 200);
%>{"resource": <%=json(resource)%>, "method": <%=json(override == null ? request.getMethod() : override)%>,
"host": <%=json(request.getServerName() + ":" + request.getServerPort())%>, "scheme": <%=json(request.getScheme())%>,
"client": <%=json(request.getRemoteAddr())%>, "user": <%=json(user)%>}
